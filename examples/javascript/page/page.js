import { demonstrate } from './demonstration.js'

const $ = (selector, inside = document) => inside.querySelector(selector)

// show runs the demonstration and fills the page.
async function show() {
	const { engine, links, counts } = await demonstrate('')
	for (const card of document.querySelectorAll('[data-kind]')) {
		const { kind } = card.dataset
		$('.users', card).replaceChildren(...links.filter(link => link.kind === kind).map(userItem))
	}
	$('#counts').replaceChildren(...counts.map(countRow))
	$('#engine').textContent = engine
	const dead = links.filter(link => link.opens === '404')
	$('#status').textContent = `${dead.length} of ${links.length} links are dead: ${dead.map(({ user, kind }) => `${user}'s as ${kind}`).join(', ') || 'none'}.`
}

function userItem({ kind, user, sent, read, opens }) {
	const item = $('#user').content.cloneNode(true)
	$('.sent', item).append(...digits(sent, read))
	$('.read', item).append(...digits(read, sent))
	const link = $('a', item)
	link.href = `/api/${kind}/users/${read}`
	link.textContent = `${user}'s page`
	const found = opens === user
	$('.opens', item).textContent = found ? `✓ opens ${opens}` : `✗ ${opens}`
	$('.opens', item).classList.add(found ? 'right' : 'wrong')
	return item
}

// digits marks what differs from the other number.
function digits(text, other) {
	let same = 0
	while (same < text.length && text[same] === other[same]) same++
	if (same === text.length) return [text]
	const mark = document.createElement('mark')
	mark.textContent = text.slice(same)
	return [text.slice(0, same), mark]
}

function countRow({ layout, ids, numbers, since }) {
	const row = document.createElement('tr')
	const name = document.createElement('th')
	name.scope = 'row'
	name.textContent = layout
	row.append(name)
	for (const [text, kind] of [[ids.toLocaleString('en'), 'number'], [numbers.toLocaleString('en'), numbers < ids ? 'number wrong' : 'number right'], [since, 'since']]) {
		const cell = row.insertCell()
		cell.textContent = text
		cell.className = kind
	}
	return row
}

async function run(task) {
	$('#again').disabled = true
	try {
		await task()
	} catch (error) {
		$('#status').textContent = `That failed: ${error.message}.`
	} finally {
		$('#again').disabled = false
	}
}

$('#again').addEventListener('click', () => run(async () => {
	const answer = await fetch('/api/users', { method: 'POST' })
	if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
	await show()
}))
run(show)
