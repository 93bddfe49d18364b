// Registers bundles under unique names, or all under the name `only`. Prints a line for each bundle.
import { registerBundle } from "../../src/local/workflows.ts";
import { openRoot } from "../../src/disk/root.ts";

const [path = "", prefix = "", count = "0", only] = process.argv.slice(2);
const root = openRoot({ path });
for (let i = 0; i < Number(count); i += 1) {
  const name = `${prefix}-${i}`;
  const bytes = new TextEncoder().encode(`// ${name}`);
  await registerBundle(root, only ?? name, bytes, { descriptor: { description: name, roles: {} } });
  process.stdout.write(`${name}\n`);
}
