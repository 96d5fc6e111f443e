/**
 * How the reference looks: one style sheet in the page, allowed by its hash and nothing else.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
import { createHash } from 'node:crypto'

export const STYLE = `
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2024;--faint:#60646c;--line:#d9d9e0;--shade:#f4f4f6;--link:#0b5cad;
--get:#0b6e4f;--post:#0b5cad;--put:#8a5a00;--patch:#8a5a00;--delete:#b42318}
@media (prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e6e8eb;--faint:#9ba1a6;--line:#33383d;--shade:#1e2226;--link:#79b8ff;
--get:#4cc38a;--post:#79b8ff;--put:#f1a10d;--patch:#f1a10d;--delete:#ff8a80}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0 auto;max-width:75rem;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
overflow-wrap:anywhere}
a{color:var(--link);text-decoration:none}a:hover,a:focus{text-decoration:underline}
code,pre{font:0.875em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--shade);border:1px solid var(--line);border-radius:6px;padding:.75rem;white-space:pre-wrap}
h2{border-bottom:1px solid var(--line);margin-top:3rem;padding-bottom:.25rem}h3{margin:0;font-size:1.05rem}h4{margin:1rem 0 .25rem}
article{border:1px solid var(--line);border-radius:8px;margin:1rem 0;padding:1rem}article:target{border-color:var(--link)}
summary{cursor:pointer}details{margin:.25rem 0}details details{margin-left:.5rem}
small,.text{color:var(--faint)}.text{display:block}
ul{padding-left:1.25rem}ul.fields,ul.errors{list-style:none;padding-left:0}ul.fields li{border-top:1px solid var(--line);padding:.35rem .5rem}
.name{font-weight:600}em{color:var(--delete);font-style:normal;font-size:.85em}.pattern{background:var(--shade);padding:0 .25rem}
.get{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}.delete{color:var(--delete)}
nav ul{columns:20rem;list-style:none;padding:0}nav li{break-inside:avoid}
table{border-collapse:collapse;width:100%}td,th{border-top:1px solid var(--line);padding:.35rem .5rem;text-align:left;vertical-align:top}
@media (min-width:64rem){body{display:grid;grid-template-columns:19rem minmax(0,1fr);gap:2rem}
nav{position:sticky;top:0;max-height:100vh;overflow:auto;padding:1rem 0}nav ul{columns:1}}
`

/** No script, no picture, no font, no form, no frame, no request. */
export const CONTENT_POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')
