// Resolves a name and says which files were loaded for it.
import { resolveWorkflow } from "../../src/local/start.ts";
import { openRoot } from "../../src/storage/root.ts";

const [path = "", name = ""] = process.argv.slice(2);
const { hash } = await resolveWorkflow(openRoot({ path }), name);
process.stdout.write(JSON.stringify({ hash, loaded: Object.keys(require.cache) }));
