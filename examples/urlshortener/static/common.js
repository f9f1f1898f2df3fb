// get, post and remove call the API. They return the JSON of the answer, or throw an Error with its text and
// status.
async function call(method, path, body) {
  let response
  try {
    response = await fetch(path, {
      method,
      headers: body ? {'Content-Type': 'application/json'} : {},
      body: body && JSON.stringify(body),
    })
  } catch {
    throw new Error('The service cannot be reached.')
  }
  const answer = response.status === 204 ? {} : await response.json().catch(() => ({}))
  if (!response.ok) {
    const wait = response.headers.get('Retry-After')
    const error = new Error((answer.error || `error ${response.status}`) + (wait ? ` (in ${wait} s)` : ''))
    error.status = response.status
    throw error
  }
  return answer
}

export const get = path => call('GET', path)
export const post = (path, body) => call('POST', path, body)
export const remove = path => call('DELETE', path)

export const $ = selector => document.querySelector(selector)

// el makes an element with properties and children. Text goes through the DOM, so nothing is read as HTML.
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name)
  const role = {tr: 'row', td: 'cell'}[name] // on phones a row is a block, and Safari forgets what it was
  if (role) element.setAttribute('role', role)
  const {dataset, aria, ...rest} = properties
  Object.assign(element, rest)
  Object.assign(element.dataset, dataset)
  for (const [key, value] of Object.entries(aria || {})) element.setAttribute(`aria-${key}`, value)
  element.append(...children)
  return element
}

export function time(text) {
  const date = new Date(text)
  return el('time', {dateTime: text, title: text},
    date.toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'medium'}))
}

// duration reads a number of nanoseconds.
export function duration(ns) {
  for (const [unit, size] of [['h', 3.6e12], ['min', 6e10], ['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
    if (Math.abs(ns) >= size) return `${(ns / size).toFixed(1)} ${unit}`
  }
  return `${ns} ns`
}
