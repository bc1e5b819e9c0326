import{Ct as e,M as t,Pt as n,Tt as r,Ut as i,Vt as a,wt as o}from"./base-B5s3asxF.js";import{i as s,n as c}from"./identity-CbE3Ak60.js";function l(e){return Object.values(e?.pages??{}).sort((e,t)=>u(e).localeCompare(u(t)))}function u(e){return a(e.name)||e.slug}function d(e){return e.at===void 0?e.readOnly?i.states.lockedReason:void 0:i.states.pastReason}function f(e){return e.replace(/^public: \w+\n/m,``)}var p=`/v2/workspaces/{workspaceId}/pages/{slug}`;async function m(r,a){let{data:s,seq:l}=await e(o.POST(`/v2/workspaces/{workspaceId}/pages`,{params:{path:{workspaceId:r}},...n(a)}));return t(i.pages.created,r,l),c(String(s))}async function h(n,r,a=()=>{}){let{seq:s}=await e(o.DELETE(p,{params:{path:{workspaceId:n,slug:r}}}));t(i.pages.deleted(r),n,s,a)}async function g(t,n,i,a){let{data:c}=await e(o.GET(p,{params:{path:{workspaceId:t,slug:n}},...r}));return m(t,s(String(c),i,a))}async function _(r,a){let{seq:s}=await e(o.PUT(`/v2/workspaces/{workspaceId}/blocks/{slug}`,{params:{path:{workspaceId:r,slug:a}},...n(`config:
  title: Untitled
blocks:
  - slug: RichText
    content: '## {{title}}'
`)}));t(i.pages.blockCreated(a),r,s)}var v={blank:`blocks: []
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