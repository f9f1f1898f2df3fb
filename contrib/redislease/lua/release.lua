local worker, epoch, token, next_token, horizon = unpack(ARGV)

local row = claimed(worker, epoch, token, next_token)
if not row then return { 'lost' } end
if row.horizon > horizon then row.horizon = horizon end
if row.expires > now then row.expires = now end
put(worker, row)
return { 'released' }
