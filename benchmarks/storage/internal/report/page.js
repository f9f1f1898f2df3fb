// Shows the answer and the figures of the chosen case. Without it the page lists all cases.
const form = document.getElementById("ask");
const section = document.getElementById("case");

function rule(ask) {
  const early = ask.before === "yes" || ask.see === "time";
  if (ask.see === "nothing") return "v4";
  if (early) return ask.workers === "no" ? "v7" : "snow";
  return "auto";
}

function show() {
  const ask = Object.fromEntries(new FormData(form));
  const answer = rule(ask);
  for (const line of document.querySelectorAll("#rules li")) line.classList.toggle("hit", line.dataset.rule === answer);
  for (const row of document.querySelectorAll("#cases tbody tr")) {
    const writers = row.dataset.writers === "any" || row.dataset.writers === ask.writers;
    row.classList.toggle("miss", !writers || row.dataset.rows !== ask.rows);
  }
}

form.hidden = false;
section.classList.add("asked");
form.addEventListener("change", show);
form.addEventListener("submit", (event) => event.preventDefault());
show();
