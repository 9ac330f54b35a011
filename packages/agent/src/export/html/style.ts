/** The look of the page; its only style sheet. */
export const STYLE = `
:root { color-scheme: light dark; --ground: #fbfaf8; --paper: #fff; --ink: #1d1b18; --soft: #6f6a62; --line: #e4dfd6;
  --tint: #f4f0e8; --accent: #a0621c; --user: #f3ece0; --good: #1c7a3f; --goodt: #e5f5e9; --bad: #b3261e; --badt: #fdeae8;
  --warn: #8a5a00; --warnt: #fff4d6 }
@media (prefers-color-scheme: dark) { :root { --ground: #171614; --paper: #1f1d1a; --ink: #ece8e1; --soft: #a39c91;
  --line: #37332d; --tint: #282520; --accent: #d9a15f; --user: #2c2720; --good: #6ecf8f; --goodt: #16301f; --bad: #ff8a80;
  --badt: #3a1b19; --warn: #f0c060; --warnt: #33290f } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.6 ui-sans-serif, system-ui, -apple-system, "Segoe UI", "Noto Sans", sans-serif }
header, main, footer { max-width: 60rem; margin: 0 auto; padding: 0 1.25rem }
header { padding-top: 2.5rem }
h1 { font-size: 1.5rem; line-height: 1.3; margin: 0 0 .75rem; overflow-wrap: anywhere }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.25rem; margin: 0 0 1.5rem; font-size: .875rem }
dl.facts dt { color: var(--soft) }
dl.facts dd { margin: 0; overflow-wrap: anywhere }
footer { color: var(--soft); font-size: .8rem; padding-top: 1.5rem; padding-bottom: 3rem }
main { border-top: 1px solid var(--line); padding-top: 1.5rem }
pre, code { font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4 }
code { background: var(--tint); border-radius: 4px; padding: .1em .3em }
.text { white-space: pre-wrap; overflow-wrap: anywhere }
.text pre { background: var(--tint); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .9rem; margin: .4rem 0 }
.entry { margin: 0 0 1.25rem }
.who { display: flex; gap: .6rem; align-items: baseline; font-size: .75rem; color: var(--soft); margin-bottom: .25rem }
.who b { color: var(--accent); font-weight: 600; letter-spacing: .02em }
.prompt { background: var(--user); border: 1px solid var(--line); border-radius: 12px; padding: .8rem 1.1rem }
.label { background: var(--accent); color: var(--paper); border-radius: 99px; padding: .05rem .6rem; font-weight: 600 }
.note { font-size: .8125rem; color: var(--soft); margin: 0 0 1.25rem; padding-left: .9rem; border-left: 2px solid var(--line);
  overflow-wrap: anywhere }
.note.bad, .damage { color: var(--bad); background: var(--badt); border-left: 3px solid var(--bad); padding: .5rem .9rem;
  border-radius: 0 6px 6px 0 }
.damage { color: var(--warn); background: var(--warnt); border-color: var(--warn); font-size: .8125rem; margin: 0 0 1.25rem }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: 8px; background: var(--paper) }
summary { cursor: pointer; padding: .4rem .8rem; font-size: .8125rem; color: var(--soft); overflow-wrap: anywhere }
details[open] > summary { border-bottom: 1px solid var(--line) }
details > .in { padding: .8rem }
.call > summary { display: flex; gap: .7rem; align-items: baseline; color: var(--ink) }
.call > summary::before { content: "▸"; color: var(--soft) }
.call[open] > summary::before { content: "▾" }
.call .name { font-weight: 600; color: var(--accent); max-width: 40%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.call .subject { flex: 1; min-width: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  font: .8125rem/1.5 ui-monospace, SFMono-Regular, Menlo, monospace }
.call[open] > summary .subject { white-space: pre-wrap }
.call .facts { color: var(--soft); white-space: nowrap }
.call.failed .facts { color: var(--bad) }
.call .part { border-top: 1px dashed var(--line); padding: .6rem .8rem; max-height: 26rem; overflow: auto }
.call summary + .part { border-top: 0 }
.diff span { display: block; padding: 0 .4rem; margin: 0 -.4rem }
.diff .add { color: var(--good); background: var(--goodt) }
.diff .del { color: var(--bad); background: var(--badt) }
.diff .at { color: var(--soft) }
.thinking { border-style: dashed }
.thinking .in { color: var(--soft); font-style: italic }
.branch, .folded { border-style: dashed; background: transparent; margin: 0 0 1.25rem }
.branch > summary::marker, .folded > summary::marker { color: var(--accent) }
.summary { background: var(--tint); border-radius: 10px; padding: .8rem 1.1rem; margin-bottom: 1.25rem }
img { max-width: 100%; border-radius: 8px; border: 1px solid var(--line); margin: .4rem 0; display: block }
@media print { details { break-inside: avoid } }
`
