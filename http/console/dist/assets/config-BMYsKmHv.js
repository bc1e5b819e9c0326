var e=e=>typeof e==`object`&&e&&!Array.isArray(e)?e:{};function t(t){if(t===void 0||t!==null&&(typeof t!=`object`||Array.isArray(t)))return;let n=e(t);return{schema:e(n.schema),value:e(n.value)}}function n({schema:t,value:n},r){let i={};for(let[a,o]of Object.entries(t)){let t=e(o);if(!t.secret||r.length===0)i[a]={...t,secret:void 0};else{let e=r.map(e=>`{{secret.${e}}}`),o=n[a];i[a]={...t,secret:void 0,enum:typeof o==`string`&&o!==``&&!e.includes(o)?[o,...e]:e}}}for(let e of Object.keys(n))i[e]??={};return{type:`object`,properties:i}}function r(e){let t=new Set,n=e=>{if(typeof e==`string`)for(let n of e.matchAll(/\{\{\s*secret\.([A-Za-z0-9_.-]{1,100})\s*\}\}/g))t.add(n[1]);else typeof e==`object`&&e&&Object.values(e).forEach(n)};return n(e),[...t]}function i(e,t,n){return[...new Set([...Object.keys(e),...Object.keys(t),...n])].sort((e,t)=>e.localeCompare(t)).map(r=>({name:r,description:e[r]?.description||t[r]?.description||``,declared:r in t,state:r in e?`set`:n.has(r)?`missing`:`given`,updatedAt:e[r]?.updatedAt,updatedBy:e[r]?.updatedBy}))}var a=`schema:
  currency:
    type: string
    title: Currency
    enum:
      - EUR
      - USD
  paymentKey:
    type: string
    title: Key of the payment service
    secret: true
value:
  currency: EUR
  paymentKey: '{{secret.payment_key}}'
`;export{i as a,r as i,a as n,n as r,t};