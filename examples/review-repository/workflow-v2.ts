import { type Descriptor, durable } from "@uncaged/workflow";
import { readHistory } from "./history.ts";
import { optionsOf } from "./options.ts";
import { planReview } from "./plan.ts";
import { readFile } from "./read.ts";
import { writeReport } from "./report.ts";

// The second version reads all files concurrently, and a historian reads the commits.
export const descriptor: Descriptor = {
  description: "Reviews the files of a git repository that change most, and its history",
  roles: {
    planner: { description: "Picks the files to read", schema: { required: ["commit", "files"] } },
    historian: { description: "Looks at the commits", schema: { required: ["notes"] } },
    reader: { description: "Reads one file", schema: { required: ["path", "findings"] } },
    reporter: { description: "Writes the report", schema: { required: ["findings"] } },
  },
};

export const run = durable(async function* (step, { prompt, params }) {
  const options = optionsOf(params);
  const plan = yield* step("planner", (here) => planReview(prompt, options.files, here));

  const [history, ...readings] = yield* step.all([
    step("historian", (here) => readHistory(plan.meta, here)),
    ...plan.meta.files.map((file) => step("reader", (here) => readFile(file, here))),
  ]);

  const read = readings.map(({ meta }) => meta);
  const report = yield* step("reporter", (here) =>
    writeReport(plan.meta, read, options, here, history.meta.notes),
  );
  return report.meta.summary;
});
