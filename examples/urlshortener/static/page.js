import {$, el, get, post, remove, time} from './common.js'

let next // the cursor of the list: an ID, and so a string

$('#shorten').addEventListener('submit', async event => {
  event.preventDefault()
  const input = $('#url')
  $('#error').textContent = ''
  $('#result').hidden = true
  try {
    const link = await post('/api/links', {url: complete(input.value.trim())})
    input.removeAttribute('aria-invalid')
    $('#short-link').href = link.short_url
    $('#short-link').textContent = link.short_url.replace(/^https?:\/\//, '')
    $('#note').textContent = (link.created ? 'A new link to ' : 'This address has a link already, and keeps its code: ') + link.url
    $('#result').hidden = false
    $('#copy').textContent = 'Copy'
    $('#copy').focus()
    await load()
  } catch (error) {
    $('#error').textContent = sentence(error.message)
    input.setAttribute('aria-invalid', 'true')
    input.focus()
  }
})

// complete adds the scheme that people leave out, also before a port, and writes the host in ASCII, as DNS does.
function complete(text) {
  if (text && !/^[a-z][a-z0-9+.-]*:(?!\d+([/?#]|$))/i.test(text)) text = `https://${text}`
  return URL.canParse(text) ? new URL(text).href : text
}

const sentence = text => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?)]$/.test(text) ? '' : '.')

$('#copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText($('#short-link').href)
    $('#copy').textContent = 'Copied'
  } catch { // no permission, or no HTTPS
    getSelection().selectAllChildren($('#short-link'))
    $('#copy').textContent = 'Selected'
  }
})

// load reads the first page of the list, or the one after the cursor.
async function load(after = '') {
  try {
    const page = await get(`/api/links?after=${after}`)
    const rows = page.links.map(row)
    if (after) $('#links tbody').append(...rows)
    else $('#links tbody').replaceChildren(...rows)
    next = page.next
    $(`#kind-${page.kind}`).setAttribute('aria-current', 'true')
    $('#more').hidden = !next
    $('#links').hidden = !$('#links tbody').rows.length
    $('#status').textContent = $('#links').hidden ? 'There are no links yet.' : ''
    return rows
  } catch (error) {
    $('#status').textContent = sentence(error.message)
    return []
  }
}

function row(link) {
  const visits = el('button', {type: 'button', aria: {label: `Visits of ${link.code}`}}, 'Visits')
  const erase = el('button', {type: 'button', className: 'danger', aria: {label: `Delete ${link.code}`}}, 'Delete')
  const tr = el('tr', {dataset: {id: link.id, code: link.code}},
    el('td', {dataset: {label: 'Short'}}, el('a', {href: link.short_url, className: 'code'}, link.code)),
    el('td', {dataset: {label: 'Leads to'}, className: 'url'}, link.url),
    el('td', {dataset: {label: 'Made'}}, time(link.created_at)),
    el('td', {dataset: {label: 'ID'}}, el('a', {href: `/admin/#${link.id}`, className: 'code'}, link.id)),
    el('td', {className: 'actions'}, visits, ' ', erase))
  visits.addEventListener('click', () => show(link.code))
  erase.addEventListener('click', () => ask(link.code, tr))
  return tr
}

$('#more').addEventListener('click', async () => {
  const [first] = await load(next)
  first?.querySelector('a').focus()
})

async function show(code) {
  try {
    const {days} = await get(`/api/links/${code}/visits`)
    const max = Math.max(1, ...days.map(day => day.visits))
    $('#visits-title').textContent = `Visits of ${code}`
    $('#days tbody').replaceChildren(...days.reverse().map(day => el('tr', {},
      el('td', {}, day.day), el('td', {className: 'number'}, String(day.visits)),
      el('td', {}, el('meter', {max, value: day.visits, aria: {hidden: 'true'}})))))
    $('#visits').hidden = false
    $('#visits-title').focus()
  } catch (error) {
    $('#status').textContent = sentence(error.message)
  }
}

function ask(code, tr) {
  $('#confirm-text').textContent = `Delete ${code}? The link stops working for everyone. Its code is never used again.`
  // Not the event "close", which comes late: the dialog may be open again, for another link.
  $('#confirm-delete').onclick = async () => {
    try {
      await remove(`/api/links/${code}`)
      $('#status').textContent = `${code} is deleted.`
    } catch (error) { // another visitor may have been faster
      $('#status').textContent = sentence(error.message)
      if (error.status !== 404) return
    }
    tr.remove()
    $('#visits').hidden = true
    $('#links-title').focus()
  }
  $('#confirm').showModal()
}

load()
