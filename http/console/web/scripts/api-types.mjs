// Writes src/lib/api/schema.d.ts from the OpenAPI document of the service (http/api/openapi.yaml, the
// source of /openapi.json). With --check it compares only. Answers of errors and headers of
// answers are left out: the client has one error object and reads the headers it needs itself.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import { parse } from 'yaml';

const web = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(web, 'src/lib/api/schema.d.ts');
const document = parse(readFileSync(join(web, '../../api/openapi.yaml'), 'utf8'), { maxAliasCount: -1 });

for (const path of Object.keys(document.paths)) {
  // /sys is what the platform's own screen maintains.
  if (!/^\/(v2|sys)\//.test(path)) {
    delete document.paths[path];
    continue;
  }
  for (const operation of Object.values(document.paths[path])) {
    if (!operation || typeof operation !== 'object' || !operation.responses) continue;
    for (const status of Object.keys(operation.responses)) {
      if (!/^(2|30[0-3])/.test(status)) delete operation.responses[status];
      else delete operation.responses[status].headers;
    }
  }
}
for (const response of Object.values(document.components.responses)) delete response.headers;
delete document.components.headers;

const text = `// Made by scripts/api-types.mjs from http/api/openapi.yaml. Do not edit.\n${astToString(
  await openapiTS(document, { defaultNonNullable: false }),
)}`;
if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('src/lib/api/schema.d.ts is not what http/api/openapi.yaml says: run npm run api');
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
