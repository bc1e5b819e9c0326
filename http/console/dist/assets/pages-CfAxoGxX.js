import{Et as e,Gt as t,It as n,M as r,Tt as i,Ut as a,wt as o}from"./base-4F0RMMl-.js";import{i as s,n as c}from"./identity-CbE3Ak60.js";function l(e){return Object.values(e?.pages??{}).sort((e,t)=>u(e).localeCompare(u(t)))}function u(e){return a(e.name)||e.slug}function d(e){return e.at===void 0?e.readOnly?t.states.lockedReason:void 0:t.states.pastReason}function f(e){return e.replace(/^public: \w+\n/m,``)}var p=`/v2/workspaces/{workspaceId}/pages/{slug}`;async function m(e,a){let{data:s,seq:l}=await o(i.POST(`/v2/workspaces/{workspaceId}/pages`,{params:{path:{workspaceId:e}},...n(a)}));return r(t.pages.created,e,l),c(String(s))}async function h(e,n,a=()=>{}){let{seq:s}=await o(i.DELETE(p,{params:{path:{workspaceId:e,slug:n}}}));r(t.pages.deleted(n),e,s,a)}async function g(t,n,r,a){let{data:c}=await o(i.GET(p,{params:{path:{workspaceId:t,slug:n}},...e}));return m(t,s(String(c),r,a))}async function _(e,a){let{seq:s}=await o(i.PUT(`/v2/workspaces/{workspaceId}/blocks/{slug}`,{params:{path:{workspaceId:e,slug:a}},...n(`config:
  title: Untitled
blocks:
  - slug: RichText
    content: '## {{title}}'
`)}));r(t.pages.blockCreated(a),e,s)}var v={blank:`blocks: []
`,landing:`blocks:
  - slug: Header
    title: Garden shop
  - slug: Hero
    title: Everything for your garden
    lead: Seeds and tools, delivered within two days.
  - slug: Cards
    cards:
      - title: Seeds
        description: For every season
      - title: Tools
        description: That last
  - slug: Footer
    content: Garden shop, Example Street 1
`,form:`blocks:
  - slug: Header
    title: Write to us
  - slug: Form
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
  - slug: Toast
    toastOn: message.received
`};export{v as a,u as c,g as i,d as l,m as n,l as o,h as r,f as s,_ as t};