// Collects garbage repeatedly.
import { collectGarbage } from "../../src/local/upkeep/gc.ts";
import { openRoot } from "../../src/disk/root.ts";

const [path = "", count = "0"] = process.argv.slice(2);
const root = openRoot({ path });
for (let i = 0; i < Number(count); i += 1) {
  await collectGarbage(root);
  await Bun.sleep(1);
}
