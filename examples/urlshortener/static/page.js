const status = document.querySelector('[role=status]')

document.querySelector('form').addEventListener('submit', async event => {
	event.preventDefault()
	try {
		const answer = await fetch('/api/links', {
			method: 'POST',
			headers: { 'Content-Type': 'application/json' },
			body: JSON.stringify({ url: document.querySelector('#url').value }),
		})
		const link = await answer.json()
		if (!answer.ok) throw new Error(link.error)
		const a = document.createElement('a')
		a.href = a.textContent = link.short_url
		status.replaceChildren(a)
	} catch (error) {
		status.textContent = `That failed: ${error.message}`
	}
})
