-- Takes all entries of a version out of a string of entries. What is left takes no more room than it needs.
local function cut(key, size, version)
  local entries = redis.call('GET', key)
  if not entries then return end
  local kept, from = {}, 1
  local at = string.find(entries, version, 1, true)
  while at do
    local last = at + #version - 1
    -- Elsewhere the same bytes are a part of something else.
    if last % size == 0 then
      kept[#kept + 1] = string.sub(entries, from, last - size)
      from = last + 1
    end
    at = string.find(entries, version, at + 1, true)
  end
  if from == 1 then return end
  kept[#kept + 1] = string.sub(entries, from)
  local rest = table.concat(kept)
  -- First what a full server allows: then it allows the rest too, which is less than there was.
  redis.call('DEL', key)
  if rest ~= '' then redis.call('SET', key, rest) end
end
