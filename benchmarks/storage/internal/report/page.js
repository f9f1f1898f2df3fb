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
  const database = document.querySelector("input[name=db]:checked");
  const writers = ask.writers === "1" ? "one" : "many";
  for (const line of document.querySelectorAll("#rules li")) line.classList.toggle("hit", line.dataset.rule === answer);
  for (const row of document.querySelectorAll("#cases tbody tr")) {
    const fits = row.dataset.writers === "any" || row.dataset.writers === writers;
    row.classList.toggle("miss", !fits || (row.dataset.rows === "one") !== (ask.rows === "1"));
    for (const cell of row.querySelectorAll("td")) cell.classList.toggle("pick", cell.dataset.rule === answer);
  }
  for (const table of document.querySelectorAll("#cases table")) { // a database without such a case
    table.classList.toggle("miss", !table.querySelector("tbody tr:not(.miss)"));
  }
  const cell = document.querySelector(`.${database.value} [data-case="${ask.writers} ${ask.rows} ${ask.rate}"]`);
  document.getElementById("prediction").textContent = cell && answer === "snow"
    ? `Predicted for ${ask.writers} processes at this rate: snowflakes take ${cell.textContent} the bytes of auto-increment. ${cell.dataset.advice}`
    : "";
}

form.hidden = false;
section.classList.add("asked");
document.addEventListener("change", show);
form.addEventListener("submit", (event) => event.preventDefault());
show();
