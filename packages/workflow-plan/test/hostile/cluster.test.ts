// @cluster: a hostile agent runs beside a cluster.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { missingServer } from "../../../workflow-restate/test/fixtures/server.ts";
import { TestCluster } from "../../../workflow-restate/test/fixtures/cluster.ts";
import { some } from "../../../workflow/test/fixtures/cases.ts";
import { hostileAttempts, reportsIn } from "./reports.ts";
import { missing, users } from "./users.ts";
import { Victim } from "./victim.ts";

/* A step tries to reach the cluster of its machine, to add a bundle, and to make a worker run the bundle outside. */
setDefaultTimeout(600_000);
const left = missing || missingServer;
let cluster: TestCluster;
beforeAll(async () => {
  if (left !== "") return;
  cluster = await TestCluster.start();
  await cluster.work();
});
afterAll(async () => {
  if (left === "") await cluster.stop();
});

for (const user of some(users, 0, users.length - 1)) {
  test.skipIf(left !== "")(
    `a step can't reach a cluster of its machine, as ${user.name}${left}`,
    async () => {
      const { address, url } = cluster.cluster;
      const portOf = (text: string) => Number(new URL(text).port);
      const victim = new Victim(user, ({ home }) => join(home, ".uncaged"));
      try {
        await victim.open({
          cluster: {
            ...{ host: url, ingress: portOf(address.ingress), admin: portOf(address.admin) },
            workers: cluster.workers.map(({ port }) => port),
          },
        });
        const attempts = hostileAttempts.filter(({ kind }) => kind === "cluster");
        const step = victim.step(
          "cluster",
          attempts.map(({ name }) => name),
        );
        const [id = ""] = await victim.create([{ steps: [step] }]);
        const reports = reportsIn(await victim.ran(id), attempts);
        expect(reports.map(({ name, outcome }) => `${outcome} ${name}`)).toEqual(
          attempts.map(({ name }) => `refused ${name}`),
        );
        expect(existsSync(join(victim.home, "owned"))).toBe(false);
        expect(await cluster.open().workflows()).toEqual([]);
      } finally {
        await victim.close();
      }
    },
  );
}
