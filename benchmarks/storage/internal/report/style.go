package report

// The colours of kinds differ in lightness, so that colour-blind readers can distinguish them. They are variables, so
// that one SVG works on white, on black and on paper.
const chartColors = `
.chart{--ink:#1b1f24;--soft:#57606a;--grid:#d8dee4;--paper:#fff;
--auto:#6e7781;--snow:#0b6bcb;--uuid:#c2570c;--text:#a3265f;
--h0:#fbe3d3;--h1:#dbe9f8;--h2:#a9cdf0;--h3:#5b9fdd;--h4:#0b5cad;--on3:#1b1f24}
@media (prefers-color-scheme:dark){.chart{--ink:#e6edf3;--soft:#9aa5b1;--grid:#30363d;--paper:#0d1117;
--auto:#9aa5b1;--snow:#58a6ff;--uuid:#f0883e;--text:#f778ba;
--h0:#5a2d14;--h1:#12283f;--h2:#174a7a;--h3:#3d8ad6;--h4:#79b8ff;--on3:#0d1117}}
@media print{.chart{--ink:#000;--soft:#333;--grid:#ccc;--paper:#fff;
--auto:#6e7781;--snow:#0b6bcb;--uuid:#c2570c;--text:#a3265f;
--h0:#fbe3d3;--h1:#dbe9f8;--h2:#a9cdf0;--h3:#5b9fdd;--h4:#0b5cad;--on3:#000}}
`

const chartStyle = chartColors + `
.chart text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--ink)}
.chart .tick,.chart .axis{fill:var(--soft);font-size:12px}
.chart .value{font-variant-numeric:tabular-nums}
.chart .grid{stroke:var(--grid);stroke-width:1}
.chart .base,.chart .one{stroke:var(--soft);stroke-width:1.5}
.chart .whisker{stroke:var(--ink);stroke-width:1.3}
.chart .stem{stroke-width:3;opacity:.45}
.chart .hatch{stroke:var(--paper);stroke-width:4}
.chart .quiet{pointer-events:none}
.chart .f-auto{fill:var(--auto)}.chart .f-snow{fill:var(--snow)}
.chart .f-uuid{fill:var(--uuid)}.chart .f-text{fill:var(--text)}
.chart .s-auto{stroke:var(--auto)}.chart .s-snow{stroke:var(--snow)}
.chart .s-uuid{stroke:var(--uuid)}.chart .s-text{stroke:var(--text)}
.chart .f-legend{fill:var(--soft)}
.chart .pale{opacity:.35}.chart .middle{opacity:.7}
.chart .dot{stroke-width:2}.chart .hollow{fill:var(--paper)}
.chart .curve{fill:none;stroke-width:2}
.chart .dash1{stroke-dasharray:7 3}.chart .dash2{stroke-dasharray:2 3}.chart .dash3{stroke-dasharray:9 3 2 3}
.chart .heat0{fill:var(--h0)}.chart .heat1{fill:var(--h1)}.chart .heat2{fill:var(--h2)}
.chart .heat3{fill:var(--h3)}.chart .heat4{fill:var(--h4)}
.chart .on3{fill:var(--on3)}.chart .on4{fill:var(--paper)}
`
