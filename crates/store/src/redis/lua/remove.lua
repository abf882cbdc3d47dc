-- Takes a record out of everything, on one server, in one step.
-- KEYS: versions, expiries, ids, records, outlines, texts. ARGV: its id, its version, the strings it is in.
local version, cuts = ARGV[2], ARGV[3]
if redis.call('ZREM', KEYS[3], ARGV[1] .. version) == 0 then return 0 end
redis.call('HDEL', KEYS[4], version)
redis.call('HDEL', KEYS[5], version)
redis.call('HDEL', KEYS[6], version)
redis.call('ZREM', KEYS[2], version)
local at = 1
while at <= #cuts do
  local key, size
  key, size, at = struct.unpack('>Bc0B', cuts, at)
  cut(key, size, version)
end
return 1
