-- Ends an addition that is not committed; it can no longer be.
-- KEYS: tickets, graves. ARGV: its version.
local record = redis.call('HGET', KEYS[1], ARGV[1])
if not record then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], record)
return 1
