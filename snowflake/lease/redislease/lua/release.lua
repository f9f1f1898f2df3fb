local worker, epoch, token = unpack(ARGV)

local row = claimed(worker, epoch, token)
if not row then return { 'lost' } end
if now < row.expires then
  row.expires = now
  put(worker, row)
end
return { 'released' }
