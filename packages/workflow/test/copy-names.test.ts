import { afterEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { copyBundle, copyWorkflow } from "../src/host/move.ts";
import { openLocalHost } from "../src/local/host.ts";
import { movingRoot } from "../src/local/upkeep/move.ts";
import { bundlePath } from "../src/disk/paths.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf } from "./fixtures/until.ts";

afterEach(removeStores);

/** Creates a storage root. `register` registers a workflow. */
function place() {
  const { root, folder } = new TestStore();
  const host = openLocalHost({ path: root });
  const register = async (name: string, note: string): Promise<string> => {
    const file = join(folder, `${note}.esm.js`);
    await Bun.write(file, bundleOf('yield step("a");', note));
    return (await host.register(name, file)).hash;
  };
  return { root, host, moving: movingRoot(root, "here"), register };
}
const versionsOf = async ({ host }: ReturnType<typeof place>) =>
  (await host.history("greet")).map(({ hash }) => hash);

describe("a name that is copied", () => {
  test("has all of its versions there, with the same current version", async () => {
    const [one, other] = [place(), place()];
    const hashes = [await one.register("greet", "1"), await one.register("greet", "2")];
    await one.host.rollback("greet");
    const copied = await copyWorkflow(one.moving, other.moving, "greet");
    expect(copied).toMatchObject({ hash: hashes[0], versions: 2, unchanged: false });
    expect((await other.host.workflow("greet")).hash).toBe(hashes[0] ?? "");
    expect(await versionsOf(other)).toEqual(hashes.toReversed());
    expect(await copyWorkflow(one.moving, other.moving, "greet")).toMatchObject({
      unchanged: true,
    });
    expect((await other.host.verify()).problems).toEqual([]);
  });

  test("replaces a known version, and another version only by force", async () => {
    const [one, other] = [place(), place()];
    const first = await one.register("greet", "1");
    await copyWorkflow(one.moving, other.moving, "greet");
    const second = await one.register("greet", "2");
    await copyWorkflow(one.moving, other.moving, "greet");
    const theirs = await other.register("greet", "3");
    const push = (force: boolean) => copyWorkflow(one.moving, other.moving, "greet", { force });
    expect(await codeOf(push(false))).toBe("VERSION_CONFLICT");
    expect((await other.host.workflow("greet")).hash).toBe(theirs);
    expect(await push(true)).toMatchObject({ hash: second });
    expect((await versionsOf(other)).toSorted()).toEqual([first, second, theirs].toSorted());
    await copyWorkflow(other.moving, one.moving, "greet");
    expect((await versionsOf(one)).toSorted()).toEqual([first, second, theirs].toSorted());
  });

  test("has its bundles hashed again during the copy, like a copied bundle", async () => {
    const [one, other] = [place(), place()];
    const hash = await one.register("greet", "1");
    expect(await copyBundle(one.moving, other.moving, hash)).toMatchObject({ hash });
    expect((await other.host.version(hash)).hash).toBe(hash);
    await Bun.write(bundlePath(one.root, hash), "changed");
    const third = place();
    expect(await codeOf(copyBundle(one.moving, third.moving, hash))).toBe("BUNDLE_CHANGED");
    rmSync(bundlePath(one.root, hash));
    expect(await codeOf(copyWorkflow(one.moving, third.moving, "greet"))).toBe("BUNDLE_MISSING");
    expect(await third.host.workflows()).toEqual([]);
    expect(await codeOf(copyWorkflow(one.moving, third.moving, "none"))).toBe("WORKFLOW_NOT_FOUND");
  });
});
