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
  if rest == '' then
    redis.call('DEL', key)
    return
  end
  -- A full server allows what takes less room only after something that it always allows. That must not be DEL: in a slot that
  -- moves a key that is gone belongs to the other master at once, and the script would end here.
  redis.call('PERSIST', key)
  redis.call('SET', key, rest)
end
