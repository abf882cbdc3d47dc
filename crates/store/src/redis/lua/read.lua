-- Records by id or by version, all of one at the same moment.
-- KEYS: ids, records, outlines, texts. ARGV: what is wanted (r, o or t), by what (i or v), and then ids as they are in a
-- range, the first and the last of each, or versions.
local want, by_id = ARGV[1], ARGV[2] == 'i'
local answers = {}
for at = 3, #ARGV, by_id and 2 or 1 do
  local version = ARGV[at]
  if by_id then
    local member = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[at], ARGV[at + 1], 'LIMIT', 0, 1)[1]
    version = member and string.sub(member, -6)
  end
  local record = version and redis.call('HGET', KEYS[2], version)
  if record then
    local answer = {version, record}
    if want ~= 'r' then answer[3] = redis.call('HGET', KEYS[3], version) end
    if want == 't' then answer[4] = redis.call('HGET', KEYS[4], version) end
    answers[#answers + 1] = answer
  else
    answers[#answers + 1] = false
  end
end
return answers
