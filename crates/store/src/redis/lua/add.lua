-- Stores a record, on one server, in one step.
-- KEYS: versions, expiries, ids, records, outlines, texts.
local id, range_end = ARGV[1], ARGV[2]
local rule, over, expected = ARGV[3], ARGV[4], ARGV[5]
local record, outline, text, expires = ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local now = tonumber(ARGV[10])
local appends, cuts = ARGV[11], ARGV[12]
local lookups, judged = ARGV[13], ARGV[14]
local seen, watched = ARGV[15], ARGV[16]

local function is_hidden(version)
  local at = redis.call('ZSCORE', KEYS[2], version)
  return at and tonumber(at) <= now
end

local is_judged = {}
for at = 1, #judged, 6 do is_judged[string.sub(judged, at, at + 5)] = true end

if not redis.call('ZSCORE', KEYS[2], '-') then return {'gone'} end
local member = redis.call('ZRANGEBYLEX', KEYS[3], '[' .. id, range_end, 'LIMIT', 0, 1)[1]
local old = member and string.sub(member, -6) or ''
-- One that has expired is not there, and must be taken out all the same.
local own = (member and not is_hidden(old)) and old or ''
if over ~= '' and over ~= own then return {'changed', own} end
if rule == 'new' and own ~= '' then return {'exists', own} end

local function is_candidate(version)
  return version ~= old and not is_judged[version] and not is_hidden(version)
    and redis.call('HEXISTS', KEYS[4], version) == 1
end

-- Whether a string has something near that would have to be judged.
local function has_candidate(key, base, within, payload)
  local entries = redis.call('GET', key)
  if not entries then return false end
  local length, unpack_number = #payload, struct.unpack
  local bxor, band = bit.bxor, bit.band
  local words, formats, places = {}, {}, {}
  for at = 1, length, 4 do
    local bytes = math.min(4, length - at + 1)
    formats[#formats + 1] = '>I' .. bytes
    words[#words + 1] = unpack_number('>I' .. bytes, payload, at)
    places[#places + 1] = at - 1
  end
  for start = 1, #entries - length, length + 6 do
    local distance = base
    for word = 1, #words do
      local left = bxor(unpack_number(formats[word], entries, start + places[word]), words[word])
      while left ~= 0 and distance <= within do
        left = band(left, left - 1)
        distance = distance + 1
      end
      if distance > within then break end
    end
    if distance <= within and is_candidate(string.sub(entries, start + length, start + length + 5)) then
      return true
    end
  end
  return false
end

local at = 1
while at <= #lookups do
  local key, base, within, payload
  key, base, within, payload, at = struct.unpack('>Bc0HHBc0', lookups, at)
  if has_candidate(key, base, within, payload) then return {'unjudged'} end
end
-- What the caller has looked through itself must not have got anything new: entries come in order of their versions.
if seen ~= '' then
  local last_seen = struct.unpack('>I6', seen)
  at = 1
  while at <= #watched do
    local key
    key, at = struct.unpack('>Bc0', watched, at)
    local last = redis.call('GETRANGE', key, -6, -1)
    if last ~= '' and struct.unpack('>I6', last) > last_seen then return {'again'} end
  end
end
if old ~= expected then
  return {'old', old, redis.call('HGET', KEYS[4], old), redis.call('HGET', KEYS[5], old)}
end

-- The first command that changes something is one that a full server refuses, so it is all or nothing.
local version = struct.pack('>I6', redis.call('INCR', KEYS[1]) * 1024)
if old ~= '' then
  redis.call('ZREM', KEYS[3], member)
  redis.call('HDEL', KEYS[4], old)
  redis.call('HDEL', KEYS[5], old)
  redis.call('HDEL', KEYS[6], old)
  redis.call('ZREM', KEYS[2], old)
  at = 1
  while at <= #cuts do
    local key, size
    key, size, at = struct.unpack('>Bc0B', cuts, at)
    cut(key, size, old)
  end
end
at = 1
while at <= #appends do
  local key, payload
  key, payload, at = struct.unpack('>Bc0Bc0', appends, at)
  redis.call('APPEND', key, payload .. version)
end
redis.call('ZADD', KEYS[3], 0, id .. version)
redis.call('HSET', KEYS[4], version, record)
if outline ~= '' then redis.call('HSET', KEYS[5], version, outline) end
if text ~= '' then redis.call('HSET', KEYS[6], version, text) end
if expires ~= '' then redis.call('ZADD', KEYS[2], expires, version) end
return {'stored', version, own, redis.call('ZCOUNT', KEYS[2], '(-inf', now)}
