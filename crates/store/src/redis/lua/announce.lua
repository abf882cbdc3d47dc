-- Says that a record is to be added, before anything of it is in the index.
-- KEYS: tickets, records, graves, outlines, texts. ARGV: its version, and it.
local version = ARGV[1]
local there = redis.call('HGET', KEYS[1], version)
if there and there ~= ARGV[2] then return 0 end
-- A counter that has gone back (a failover) gives numbers twice.
if redis.call('HEXISTS', KEYS[2], version) == 1 or redis.call('HEXISTS', KEYS[3], version) == 1 then return 0 end
-- Again, if the answer was lost: replicas are waited for (WAIT) only by whoever has written something.
redis.call('HSET', KEYS[1], version, ARGV[2])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[4], version, ARGV[3]) end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[5], version, ARGV[4]) end
return 1
