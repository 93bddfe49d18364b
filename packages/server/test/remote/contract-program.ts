import { openRemoteHost } from "../../../workflow/src/entry/client.ts";
import { hostContract } from "../../../workflow/src/host/host-contract.ts";

/*
 * Checks one rule of the contract of hosts against a server, in any runtime with the file system of Node. The arguments
 * are the server's URL, a folder for bundles, and the name of the rule.
 */
type Files = { writeFileSync(path: string, text: string): void };
type Runtime = {
  argv: string[];
  env: Record<string, string | undefined>;
  getBuiltinModule(name: "fs"): Files;
};

const runtime = (globalThis as unknown as { process: Runtime }).process;
const { argv, env } = runtime;
const files = runtime.getBuiltinModule("fs");
const [url = "", folder = "", rule = ""] = argv.slice(2);
const host = await openRemoteHost(url, { token: env.TOKEN, patienceMs: 60_000 });
const { check } = hostContract().find(({ name }) => name === rule) ?? {};
if (!check) throw new Error(`no rule ${rule}`);

await check({
  host,
  async put(bundle, name) {
    const file = `${folder}/bundle.esm.js`;
    files.writeFileSync(file, bundle);
    const { hash } = await (name === undefined ? host.store(file) : host.register(name, file));
    return hash;
  },
  workerEnv: { UNCAGED_OF_CONTRACT: "the server's" },
});
