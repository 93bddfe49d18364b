import { join } from "node:path";
import { engineOf } from "../engine.ts";
import { sampleOf } from "../measure.ts";
import { line, type Row } from "../row.ts";
import { makeStore, type Report, reported } from "../store.ts";

const count = 10_000;
const times = 9;

/**
 * The time of a step among the last 1,000 of 10,000 steps. The floor is a step among the first 1,000. Nothing is synced,
 * because the time of the disk would hide a difference.
 */
export const growth: Row = {
  name: "growth",
  async measure({ folder }) {
    const store = await makeStore(folder);
    const engine = engineOf(store);
    const report = join(store.folder, "report.json");
    const reports: Report[] = [];
    for (let n = 0; n <= times; n += 1) {
      await engine.run({ count, report }, "os");
      reports.push(await reported(report));
    }
    // The first thread warms up the code.
    const warm = reports.slice(1);
    const first = sampleOf(warm.map(({ began, marks }) => (marks[0] ?? 0) - began));
    const last = sampleOf(warm.map(({ marks }) => (marks.at(-1) ?? 0) - (marks.at(-2) ?? 0)));
    const texts = { what: "a step at 10,000, not synced", unit: "µs", floorIs: "a step at 1" };
    return [line({ ...texts, target: { ratio: 1.1 } }, [first, last])];
  },
};
