local known_layout, layout, worker, epoch, expires, next_epoch, token, ttl, holder = unpack(ARGV)

if protocol then return { 'protocol', protocol } end

local row = { epoch = digits(0), horizon = digits(0), expires = 0 } -- of a worker that was never taken
local text = redis.call('HGET', key, worker)
if text then row = parse(text) end

local unchanged = row and row.epoch == epoch and digits(row.expires) == expires
  and (redis.call('HGET', key, 'layout') or '') == known_layout
if not unchanged or row.expires > now then return { 'changed' } end

row.epoch, row.token, row.expires, row.holder = next_epoch, token, now + ttl, holder
redis.call('HSET', key, 'layout', layout)
put(worker, row)
return { 'taken', time[1], time[2], row.horizon }
