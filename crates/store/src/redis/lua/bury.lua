-- Takes a record away; its entries are still in the index.
-- KEYS: ids, records, graves, texts. ARGV: its id, its version.
local version = ARGV[2]
if redis.call('ZREM', KEYS[1], ARGV[1] .. version) == 0 then return 0 end
redis.call('HSET', KEYS[3], version, redis.call('HGET', KEYS[2], version))
redis.call('HDEL', KEYS[2], version)
redis.call('HDEL', KEYS[4], version)
-- The versions of an id grow, even if one of them is gone: see commit.lua.
local highest = redis.call('HGET', KEYS[3], '-')
if not highest or struct.unpack('>I6', highest) < struct.unpack('>I6', version) then
  redis.call('HSET', KEYS[3], '-', version)
end
return 1
