import { writeFileSync } from "node:fs";
import { attempt, NotTried, ownCommand, workFolder } from "./attempt.mjs";
import { reach } from "./connect.mjs";

/* Attempts on a cluster on the same machine, whose workers run added bundles outside of the sandbox. */
attempt(
  "cluster",
  "a new bundle, which a worker runs",
  ({ clusterHost, home }) => {
    if (clusterHost === null) throw new NotTried("no cluster found");
    const bundle = `${workFolder}/hostile.esm.js`;
    writeFileSync(
      bundle,
      `import { appendFileSync } from "node:fs";
export const descriptor = { description: "hostile", roles: {} };
export async function* run() {
  appendFileSync(${JSON.stringify(`${home}/owned`)}, "owned\\n");
  return { returnCode: 0, summary: "owned" };
}
`,
    );
    const host = ["--host", clusterHost];
    const added = ownCommand("add", "hostile", bundle, ...host);
    if (added.status !== 0) throw new Error(added.stderr.slice(0, 200));
    const ran = ownCommand("run", "hostile", "--wait", ...host);
    return `added and run: ${ran.status} ${ran.stdout}`;
  },
  { needs: "cluster" },
);

const ports = { ingress: "/restate/health", admin: "/deployments" };
for (const [name, path] of Object.entries(ports)) {
  attempt(
    "cluster",
    `the ${name} by HTTP`,
    async (targets) => {
      if (targets[name] === null) throw new NotTried("no cluster found");
      const sent = `GET ${path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n`;
      return await reach({ host: "127.0.0.1", port: targets[name] }, sent);
    },
    { needs: "cluster" },
  );
}

attempt(
  "cluster",
  "the workers by HTTP",
  async ({ workers }) => {
    if (workers.length === 0) throw new NotTried("no worker found");
    for (const port of workers) {
      const got = await reach({ host: "127.0.0.1", port }).catch(() => null);
      if (got !== null) return `${port}: ${got}`;
    }
    return null;
  },
  { needs: "cluster" },
);
