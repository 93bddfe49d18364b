import { afterEach, describe, test } from "bun:test";
import { openRemoteHost } from "@uncaged/workflow/client";
import { hostContract } from "@uncaged/workflow/testing";
import { putBundle } from "../../../workflow/src/bundle/store.ts";
import { openRoot } from "../../../workflow/src/disk/root.ts";
import { ServingRoot, stopServing } from "../serving.ts";

afterEach(stopServing);

describe("a remote host", () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const serving = new ServingRoot();
      serving.more = { UNCAGED_OF_CONTRACT: "the server's" };
      serving.options = { cwd: "/" };
      await serving.begin();
      const { port, token } = serving;
      const host = await openRemoteHost(`http://127.0.0.1:${port}`, { token });
      const root = openRoot({ path: serving.path });
      const put = async (bundle: string, as?: string): Promise<string> => {
        const bytes = new TextEncoder().encode(bundle);
        const descriptor = { description: "a test", roles: {} };
        if (as === undefined) return await putBundle(root, bytes, { descriptor });
        return (await host.register(as, serving.write("bundle.esm.js", bundle))).hash;
      };
      await check({ host, put, workerEnv: serving.more });
    });
  }
});
