import{Ut as e}from"./base-4F0RMMl-.js";var t={Header:`slug: Header
title: Garden shop
nav:
  - text: Home
    type: internal
    value: index
`,Hero:`slug: Hero
title: Everything for your garden
lead: Seeds and tools, delivered within two days.
buttons:
  - text: Order now
    type: event
    value: order.begun
    theme: primary
`,RichText:`slug: RichText
content: |
  ## A heading
  Text with **bold** words and [links](https://example.org).
`,Image:`slug: Image
src: https://example.org/picture.png
alt: What the picture shows
`,Button:`slug: Button
text: Go on
type: event
value: continued
`,Buttons:`slug: Buttons
buttons:
  - text: Save
    type: event
    value: saved
    theme: primary
  - text: Back
    type: internal
    value: index
`,Action:`slug: Action
text: Read more
type: external
value: https://example.org
`,Form:`slug: Form
title: Write to us
onSubmit: message.sent
submitLabel: Send
schema:
  type: object
  required:
    - text
  properties:
    name:
      type: string
      title: Name
    text:
      type: string
      title: Message
      ui:widget: textarea
`,DataTable:`slug: DataTable
title: Orders
columns:
  - label: Number
    key: id
  - label: Total
    key: total
data:
  - id: A-1
    total: 48.5
  - id: A-2
    total: 129
`,Cards:`slug: Cards
cards:
  - title: First
    description: What the first one is
  - title: Second
    description: What the second one is
`,KPI:`slug: KPI
title: Turnover
value: 48250
unit: €
trend: 3.2
`,Charts:`slug: Charts
title: Orders by month
type: column
data:
  - - Month
    - Orders
  - - Jan
    - 120
  - - Feb
    - 210
`,TabsView:`slug: TabsView
tabs:
  - text: First
    content:
      - slug: RichText
        content: What the first tab says.
  - text: Second
    content:
      - slug: RichText
        content: What the second tab says.
`,Collapse:`slug: Collapse
items:
  - label: A question
    content: Its answer.
`,BlocksList:`slug: BlocksList
blocks:
  - slug: RichText
    content: One after the other.
`,BlocksGrid:`slug: BlocksGrid
columns: 2
blocks:
  - slug: KPI
    title: Orders
    value: 1284
  - slug: KPI
    title: Returns
    value: 12
`,Modal:`slug: Modal
title: More about it
button:
  text: Show more
blocks:
  - slug: RichText
    content: What the dialog says.
`,Toast:`slug: Toast
toastOn: order.saved
`,Breadcrumbs:`slug: Breadcrumbs
links:
  - text: Home
    value: index
  - text: Here
`,Signin:`slug: Signin
`,Footer:`slug: Footer
content: Garden shop, Example Street 1
`,Loading:`slug: Loading
text: Loading
`},n=e=>!(e in t)||[`BlocksList`,`BlocksGrid`,`Modal`,`Footer`].includes(e);function r(e,n){let r=Object.entries(e?.blocks??{}).map(([e,t])=>({kind:e,origin:`own`,text:i(t),example:`slug: ${e}\n`})),a=new Set(r.map(e=>e.kind)),o=Object.values(e?.imports??{});return[...r,...o.filter(e=>!e.disabled&&!e.missing).flatMap(e=>e.blocks.map(e=>({kind:e.slug,origin:`app`,text:i(e),example:`slug: ${e.slug}\n`}))),...Object.entries(t).filter(([e])=>!a.has(e)).map(([e,t])=>({kind:e,origin:`builtIn`,text:n[e]??``,example:t}))]}var i=t=>e(t.description)||e(t.name);function a(e,t){let n=t.trim().toLowerCase(),r=e.filter(e=>e.kind.toLowerCase().includes(n));return[...r.filter(e=>e.kind.toLowerCase().startsWith(n)),...r.filter(e=>!e.kind.toLowerCase().startsWith(n)),...e.filter(e=>!r.includes(e)&&e.text.toLowerCase().includes(n))]}function o(e,t,n){if(t.some(t=>t.kind===e))return;let r=e.includes(`.`)?e.slice(0,e.lastIndexOf(`.`)):``,i=n?.imports??{};return r&&!(r in i)?{instance:r}:{}}export{o as i,r as n,n as r,a as t};