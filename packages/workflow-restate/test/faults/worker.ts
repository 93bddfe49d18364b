/** Worker program: bun worker.ts <ingress> <admin> <cache>. Prints its ports. */
import { serveWorker } from "../../src/entry/worker.ts";

const [ingress = "", admin = "", cache = ""] = process.argv.slice(2);
const { TOKEN: token = "", IDENTITY_KEY: identityKey = "" } = process.env;
const worker = await serveWorker({
  address: { ingress, admin, token },
  identityKeys: [identityKey],
  ...{ port: 0, healthPort: 0, cache, env: {}, isolate: true, hasStateLimit: true },
});
console.log(JSON.stringify({ port: worker.port, health: worker.healthPort }));
process.once("SIGTERM", () => void worker.close().then(() => process.exit(0)));
