import{An as e,B as t,Ct as n,Fn as r,G as i,Hn as a,It as o,Jn as s,K as c,Kn as l,Mn as u,N as d,Nt as f,On as p,Qn as m,Rn as h,Sn as g,Tn as _,Ut as v,Xn as y,Yn as b,Zn as x,_t as S,ar as C,er as w,gn as T,ht as E,ir as ee,on as te,or as D,qn as O,rn as k,rr as A,sn as ne,sr as re,wt as j,y as ie,zn as M}from"./base-DOiS3ieD.js";import{i as ae,r as oe,t as se}from"./identity-CbE3Ak60.js";import{t as ce}from"./Field-Bo642J6J.js";import{t as le}from"./actions-B0MpfKGm.js";import{t as ue}from"./automation-Cl56nD2r.js";import{n as N}from"./inputs-DKh8ZTc4.js";var P=[{id:`blank`,text:`do: []
output: {}
`},{id:`endpoint`,input:{body:{name:`Ada`}},text:`when:
  endpoint: true
schemas:
  - payload:
      type: object
      required: [body]
      properties:
        body:
          type: object
          required: [name]
          properties:
            name:
              type: string
              minLength: 1
              description: Who is greeted
validateArguments: true
do:
  - set:
      name: greeting
      value: 'Hello {{body.name}}'
output:
  greeting: '{{greeting}}'
  at: '{{run.date}}'
`},{id:`event`,event:{type:`order.created`,schema:{id:{type:`string`},amount:{type:`number`}}},input:{type:`order.created`,payload:{id:`A-17`,amount:120}},text:`when:
  events:
    - order.created
do:
  - conditions:
      '{{payload.amount}} > 100':
        - emit:
            event: order.large
            payload:
              id: '{{payload.id}}'
              amount: '{{payload.amount}}'
      default: []
output:
  order: '{{payload.id}}'
`},{id:`schedule`,text:`when:
  schedules:
    - '0 7 * * 1-5'
do:
  - set:
      name: global.reports
      type: push
      value:
        day: '{% date({{run.date}}, "YYYY-MM-DD") %}'
  - emit:
      event: report.due
      payload:
        day: '{% date({{run.date}}, "YYYY-MM-DD") %}'
output:
  reports: '{{global.reports}}'
`},{id:`secret`,secret:`example_token`,text:`do:
  - comment: Put the address of your service in place of this platform's own.
  - fetch:
      url: '{{global.apiUrl}}/login/providers'
      headers:
        x-api-token: '{{secret.example_token}}'
      outputMode: detailed_response
      output: answer
output:
  status: '{{answer.status}}'
  body: '{{answer.body}}'
`},{id:`wait`,event:{type:`approval.given`,schema:{approved:{type:`boolean`}}},input:{request:`A new laptop`},text:`arguments:
  request:
    type: string
    description: What is asked for
do:
  - emit:
      event: approval.requested
      payload:
        request: '{{request}}'
  - wait:
      oneOf:
        - event: approval.given
      timeout: 3600
      output: answer
output:
  approved: '{{answer.payload.approved}}'
`}],F=u(`<!> <!>`,1),I=u(`<input/>`),L=u(`<label><input type="radio" name="example" class="ssg8ee"/> <!> <span class="stack-4 ssg8ee"><strong> </strong><span class="small muted ssg8ee"> </span></span></label>`),R=u(`<form class="stack"><!> <fieldset><legend class="ssg8ee"> </legend> <div class="cards ssg8ee"></div></fieldset> <!> <button type="submit" class="visually-hidden" tabindex="-1" aria-hidden="true"> </button></form>`);function z(u,z){ee(z,!0);let B=[],V=c(),H=E.query.get(`new`)??``,U=m(!0),W=m(y(P.some(e=>e.id===H)?H:`blank`)),G=m(void 0),K=m(!1),q=m(!1),J=m(void 0),de=w(()=>ue(V.data).map(e=>e.slug)),Y=w(()=>M(G)??(M(W)===`blank`?``:v.automations.examples[M(W)].name)),X=w(()=>se(oe(M(Y))||`automation`,M(de))),Z={blank:`page`,endpoint:`link`,event:`event`,schedule:`schedule`,secret:`key`,wait:`wait`};async function Q(){if(M(q)||(x(K,M(Y).trim()===``),M(K)))return;x(q,!0),x(J,void 0);let e=P.find(e=>e.id===M(W));try{e.secret&&await fe(e.secret),e.event&&await pe(e.event.type,e.event.schema);let t=await le(V.id,ae(e.text,M(X),M(Y).trim()));e.input&&N(V.id,t,{payload:e.input}),x(U,!1),E.go(S(`automations`,{id:V.id,slug:t}))}catch(e){x(J,o(e))}finally{x(q,!1)}}async function fe(e){if(!V.can(`create`,`secrets`).allowed||!V.can(`read`,`secrets`).allowed)return;let t={workspaceId:V.id},{data:r}=await n(j.GET(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t}}));if(e in r)return;let i=Array.from(crypto.getRandomValues(new Uint8Array(16)),e=>e.toString(16).padStart(2,`0`)).join(``);await n(j.PATCH(`/v2/workspaces/{workspaceId}/security/secrets`,{params:{path:t},body:{[e]:{value:i,description:v.automations.exampleSecret}}}))}async function pe(e,t){let r=V.data?.events??{};if(!V.can(`update`).allowed||r.types?.[e])return;let i={events:{...r,types:{...r.types,[e]:{schema:t}}}};await n(j.PATCH(`/v2/workspaces/{workspaceId}`,{params:{path:{workspaceId:V.id}},body:i,headers:f({ifMatch:V.resource.etag})}))}let $=()=>E.setQuery({new:void 0},{replace:!0});ie(u,{wide:!0,get title(){return v.automations.newTitle},onclose:$,onconfirm:()=>void Q(),get open(){return M(U)},set open(e){x(U,e,!0)},footer:n=>{var i=F(),o=O(i);t(o,{onclick:()=>{x(U,!1),$()},children:(t,n)=>{C();var i=r();a(()=>p(i,v.common.cancel)),e(t,i)},$$slots:{default:!0}});var s=b(o,2);{let n=w(()=>V.can(`create`,`automations`)),i=w(()=>M(q)&&v.common.creating);t(s,{kind:`primary`,get verdict(){return M(n)},get pending(){return M(i)},onclick:()=>void Q(),children:(t,n)=>{C();var i=r();a(()=>p(i,v.common.create)),e(t,i)},$$slots:{default:!0}})}e(n,i)},children:(t,n)=>{var r=R(),o=l(r);{let t=(t,n=re)=>{var r=I(),i=e=>x(G,e.currentTarget.value,!0);te(r,()=>({...n(),autofocus:!0,autocomplete:`off`,value:M(Y),oninput:i}),void 0,void 0,void 0,`ssg8ee`,!0),e(t,r)},n=w(()=>v.automations.nameHelp(M(Y).trim()?M(X):``)),r=w(()=>M(K)&&!M(Y).trim()?v.form.required:void 0);ce(o,{get label(){return v.automations.name},get help(){return M(n)},get error(){return M(r)},required:!0,children:t,$$slots:{default:!0}})}var c=b(o,2),u=l(c),f=s(u,!0),m=b(u,2);g(m,21,()=>P,e=>e.id,(t,n)=>{var r=L();let o;var c=l(r);ne(c);var u,d=b(c,2);i(d,{get name(){return Z[M(n).id]}});var f=b(d,2),m=l(f),h=s(m,!0),g=b(m),_=s(g,!0);D(f),D(r),a(()=>{o=T(r,1,`choice ssg8ee`,null,o,{chosen:M(W)===M(n).id}),u!==(u=M(n).id)&&(c.value=(c.__value=u)??``),p(h,v.automations.examples[M(n).id].title),p(_,v.automations.examples[M(n).id].text)}),k(B,[],c,()=>(M(n).id,M(W)),e=>x(W,e)),e(t,r)}),D(m),D(c);var y=b(c,2),S=e=>{d(e,{compact:!0,get error(){return M(J)}})};_(y,e=>{M(J)&&e(S)});var C=b(y,2),E=s(C,!0);D(r),a(()=>{p(f,v.automations.beginWith),p(E,v.common.create)}),h(`submit`,r,e=>{e.preventDefault(),Q()}),e(t,r)},$$slots:{footer:!0,default:!0}}),A()}export{z as default};