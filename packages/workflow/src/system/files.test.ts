import { afterAll, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../test/fixtures/until.ts";
import { files } from "./files.ts";

const folder = mkdtempSync(join(tmpdir(), "uw-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a change is reported even a millisecond after another change", async () => {
  for (let n = 0; n < 20; n += 1) {
    const path = join(folder, `${n}`);
    writeFileSync(path, "");
    let seen = 0;
    const watch = files.watch(
      path,
      () => void (seen = statSync(path).size),
      () => undefined,
    );
    try {
      appendFileSync(path, "a");
      await Bun.sleep(1);
      appendFileSync(path, "b");
      await until(() => seen === 2);
    } finally {
      watch.close();
    }
  }
});
