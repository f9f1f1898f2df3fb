import {$, duration, el, get, time} from './common.js'

$('#decode').addEventListener('submit', event => {
  event.preventDefault()
  const hash = encodeURIComponent($('#id').value.trim())
  if (location.hash === `#${hash}`) decode(hash)
  else location.hash = hash // so that the picture has an address
})
addEventListener('hashchange', () => decode(location.hash.slice(1)))

async function decode(hash) {
  if (!hash) return
  $('#id').value = hash
  $('#error').textContent = ''
  try {
    const text = decodeURIComponent(hash)
    $('#id').value = text
    picture(await get(`/api/admin/ids/${encodeURIComponent(text)}`))
    $('#id').removeAttribute('aria-invalid')
  } catch (error) {
    $('#decoded').hidden = true
    $('#error').textContent = error.message
    $('#id').setAttribute('aria-invalid', 'true')
  }
}

// picture shows the 64 bits, and which of them are which field.
function picture(id) {
  const used = id.fields.reduce((sum, field) => sum + field.bits, 0)
  const fields = [{name: 'sign', bits: 64 - used, value: id.bits.slice(0, 64 - used)}, ...id.fields]
  const names = ['sign', 'time', 'worker', 'sequence']
  const look = name => names.includes(name) ? name : 'other'
  let at = 0
  const bits = []
  for (const field of fields) {
    for (const bit of id.bits.slice(at, at + field.bits)) bits.push(el('span', {className: `bit ${look(field.name)}`}, bit))
    at += field.bits
  }
  $('#bits').replaceChildren(...bits)
  $('#bits').setAttribute('aria-label', 'The 64 bits: ' + fields.map(f => `${f.name} ${f.bits} bits, ${f.value}`).join('; '))
  $('#fields').replaceChildren(...fields.map(field => el('div', {className: look(field.name)},
    el('dt', {}, `${field.name}, ${field.bits} ${field.bits === 1 ? 'bit' : 'bits'}`),
    el('dd', {}, field.name === 'time' ? new Date(id.time).toISOString().replace('T', ' ').replace('Z', ' UTC') : field.value))))
  $('#verdict').replaceChildren(el('span', {className: 'code'}, id.id),
    id.invalid ? ` is not an ID of this service: ${id.invalid}` : ' is an ID that this service can have issued. As a code: ',
    id.invalid ? '' : el('span', {className: 'code'}, id.base62))
  $('#verdict').className = id.invalid ? 'error' : ''
  $('#decoded').hidden = false
}

async function load() {
  try {
    const {lease, stats, workers, layout, end} = await get('/api/admin/status')
    const facts = [
      ['Worker', lease.Held ? String(lease.Worker) : 'none at the moment'],
      ['Namespace', lease.Namespace],
      ['May issue IDs until', time(lease.Horizon)],
      ['Database has answered at', time(lease.Extended)],
      ['Failed extensions in a row', String(lease.Failures)],
      ['Clock against the database', duration(lease.Skew)],
      ['IDs issued', String(stats.Issued)],
      ['Waits for the clock', `${stats.Waits}, ${duration(stats.Waited)}`],
      ['IDs lead the clock by', duration(stats.Lead)],
      ['Clock drift', duration(stats.Drift)],
      ['Layout', layout],
      ['The layout ends', time(end)],
    ]
    $('#status').replaceChildren(...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))))
    $('#workers tbody').replaceChildren(...workers.map(w => row(w, lease)))
    $('#updated').textContent = `As of ${new Date().toLocaleTimeString()}`
  } catch (error) {
    $('#updated').textContent = error.message
  }
}

function row(w, lease) {
  const mine = w.Held && w.Worker === lease.Worker && w.Epoch === lease.Epoch && w.Namespace === lease.Namespace
  return el('tr', mine ? {aria: {current: 'true'}} : {},
    el('td', {dataset: {label: 'Worker'}}, String(w.Worker)),
    el('td', {dataset: {label: 'State'}}, mine ? 'held by this copy' : w.Held ? 'held' : 'free'),
    el('td', {dataset: {label: 'Holder'}}, `${w.Holder.Host}, process ${w.Holder.PID}`),
    el('td', {dataset: {label: 'Owners so far'}}, String(w.Epoch)),
    el('td', {dataset: {label: 'Horizon'}}, time(w.Until)),
    el('td', {dataset: {label: 'Expires'}}, time(w.Expires)))
}

$('#refresh').addEventListener('click', load)
load()
decode(location.hash.slice(1))
