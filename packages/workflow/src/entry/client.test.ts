import { expect, test } from "bun:test";
import { builtinModules } from "node:module";
import { join } from "node:path";

test("the client does not import modules of a runtime", async () => {
  const found: string[] = [];
  const builtins: Bun.BunPlugin = {
    name: "builtins",
    setup: (builder) => {
      builder.onResolve({ filter: /.*/ }, ({ path, importer }) => {
        const isBuiltin = /^(node|bun)(:|$)/.test(path) || builtinModules.includes(path);
        if (isBuiltin) found.push(`${importer}: ${path}`);
        return undefined;
      });
    },
  };
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "client.ts")],
    target: "browser",
    plugins: [builtins],
  });
  expect(found).toEqual([]);
  const [output] = outputs;
  const { imports } = new Bun.Transpiler({ loader: "js" }).scan((await output?.text()) ?? "");
  expect(imports).toEqual([]);
});
