local layout, first, last, token, ttl, tick, holder = unpack(ARGV)

-- The number after this one, which has 19 digits too.
local function after(number)
  local high, low = tonumber(string.sub(number, 1, 10)), tonumber(string.sub(number, 11)) + 1
  if low == 1e9 then high, low = high + 1, 0 end
  return string.format('%010.0f%09.0f', high, low)
end

if protocol then return { 'protocol', protocol } end
local known = redis.call('HGET', key, 'layout')
if known and known ~= layout then return { 'layout', known } end

-- Whether row a is to be taken before row b. A tick below 0 is '', which is below every horizon.
local function before(a, b)
  local high_a, high_b = a.horizon > tick, b.horizon > tick
  if high_a ~= high_b then return high_b end
  if high_a and a.horizon ~= b.horizon then return a.horizon < b.horizon end
  if a.expires ~= b.expires then return a.expires < b.expires end
  return a.worker < b.worker
end

local taken, free, soonest = {}, nil, nil
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  local worker = all[i]
  if worker ~= 'layout' then
    local row = parse(all[i + 1])
    if not row then return { 'corrupt', worker } end
    row.worker = worker
    local held = now < row.expires
    if held and row.token == token then -- the reply to an earlier call was lost
      return { 'granted', worker, row.epoch, row.horizon, time[1], time[2] }
    end
    if worker >= first and worker <= last then
      taken[#taken + 1] = worker
      if not held then
        if not free or before(row, free) then free = row end
      elseif not soonest or row.expires < soonest then
        soonest = row.expires
      end
    end
  end
end

-- A number that was never taken comes before a horizon above the tick.
if not free or free.horizon > tick then
  table.sort(taken)
  local gap = first
  for _, worker in ipairs(taken) do
    if worker ~= gap then break end
    if worker == last then
      gap = nil
      break
    end
    gap = after(gap)
  end
  local zero = digits(0)
  if gap then free = { worker = gap, epoch = zero, horizon = zero } end
end
if not free then return { 'held', digits(soonest - now) } end

free.epoch = after(free.epoch)
free.token, free.expires, free.holder = token, now + ttl, holder
redis.call('HSET', key, 'layout', layout)
put(free.worker, free)
return { 'granted', free.worker, free.epoch, free.horizon, time[1], time[2] }
