// Shows the answer and the measured figures of the chosen case. Without it the page lists all cases.
const form = document.getElementById("ask");

function rule(ask) {
  if (ask.see === "nothing") return "v4";
  if (ask.before === "yes" || ask.see === "time") return ask.workers === "no" ? "v7" : "snow";
  return "auto";
}

function show() {
  const ask = Object.fromEntries(new FormData(form));
  const answer = rule(ask);
  for (const line of document.querySelectorAll("#rules li")) line.classList.toggle("hit", line.dataset.rule === answer);
  for (const row of document.querySelectorAll("#cases tbody tr")) {
    const fits = row.dataset.writers === "any" || row.dataset.writers === ask.writers;
    row.classList.toggle("miss", !fits || !row.dataset.rows.split(" ").includes(ask.rows));
    for (const cell of row.querySelectorAll("td")) cell.classList.toggle("pick", cell.dataset.rule === answer);
  }
  for (const table of document.querySelectorAll("#cases table")) { // a database without such a case
    table.classList.toggle("miss", !table.querySelector("tbody tr:not(.miss)"));
  }
}

document.getElementById("choices").hidden = false;
document.body.classList.add("asked");
form.addEventListener("change", show);
form.addEventListener("submit", (event) => event.preventDefault());
show();
