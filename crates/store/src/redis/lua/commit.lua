-- Makes a record of a ticket: from here on it is there, and what had its id is not.
-- KEYS: ids, records, tickets, graves, texts. ARGV: its version, its id, the end of the range of its id, the version that is
-- expected to have its id.
local version, id, expected = ARGV[1], ARGV[2], ARGV[4]
local record = redis.call('HGET', KEYS[3], version)
if not record then
  -- Done before, and the answer was lost; or somebody has ended it.
  record = redis.call('HGET', KEYS[2], version)
  if not record then return 'ended' end
  -- Again, for replicas are waited for (WAIT) only by whoever has written something.
  redis.call('HSET', KEYS[2], version, record)
  return 'stored'
end
local member = redis.call('ZRANGEBYLEX', KEYS[1], '[' .. id, ARGV[3], 'LIMIT', 0, 1)[1]
local old = member and string.sub(member, -6) or ''
if old ~= expected then return 'other' end
-- The versions of an id grow, even if one that was removed in the meantime is no longer there to be compared with.
local function is_higher(other)
  return other and other ~= '' and struct.unpack('>I6', other) > struct.unpack('>I6', version)
end
if is_higher(old) or is_higher(redis.call('HGET', KEYS[4], '-')) then return 'other' end
redis.call('HDEL', KEYS[3], version)
-- First the new one, then the old one goes: in a slot that moves no key may be empty in between, see cut.lua.
redis.call('HSET', KEYS[2], version, record)
redis.call('ZADD', KEYS[1], 0, id .. version)
if old ~= '' then
  redis.call('ZREM', KEYS[1], member)
  redis.call('HSET', KEYS[4], old, redis.call('HGET', KEYS[2], old))
  redis.call('HDEL', KEYS[2], old)
  redis.call('HDEL', KEYS[5], old)
end
return 'stored'
