import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "bun:test";
import { everyChange, nightly, type TestFiles, top } from "../scripts/test-files.ts";

const filesOf = ({ cluster, postgres, browser, pack, packages }: TestFiles): string[] => [
  ...[...cluster, ...postgres, ...browser, ...pack],
  ...Object.values(packages).flat(),
];

test("npm test or npm run test:all runs each test file once", () => {
  const [daily, more] = [filesOf(everyChange), filesOf(nightly)];
  expect(new Set(daily).size).toBe(daily.length);
  expect(new Set(more).size).toBe(more.length);
  const all = [...new Bun.Glob("**/*.test.ts").scanSync({ cwd: top })]
    .filter((path) => !/(^|\/)(node_modules|dist|template)\//.test(path))
    .map((path) => `./${path}`);
  expect([...new Set([...daily, ...more])].toSorted()).toEqual(all.toSorted());
});

test("no script and no test reads the variable CI", () => {
  const paths = new Bun.Glob("{scripts,test,bench,{packages,apps}/*/test}/**/*.{ts,mjs}").scanSync({
    cwd: top,
  });
  const readsCi = (path: string) =>
    /env(\??\.CI\b|\["CI"\])/.test(readFileSync(join(top, path), "utf8"));
  expect([...paths].filter(readsCi)).toEqual([]);
});
