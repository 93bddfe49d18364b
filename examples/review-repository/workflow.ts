import { type Descriptor, durable } from "@uncaged/workflow";
import { optionsOf } from "./options.ts";
import { planReview } from "./plan.ts";
import { type Reading, readFile } from "./read.ts";
import { writeReport } from "./report.ts";

export const descriptor: Descriptor = {
  description: "Reviews the files of a git repository that change most",
  roles: {
    planner: { description: "Picks the files to read", schema: { required: ["commit", "files"] } },
    reader: { description: "Reads one file", schema: { required: ["path", "findings"] } },
    reporter: { description: "Writes the report", schema: { required: ["findings"] } },
  },
};

export const run = durable(async function* (step, { prompt, params }) {
  const options = optionsOf(params);
  const plan = yield* step("planner", (here) => planReview(prompt, options.files, here));

  const readings: Reading[] = [];
  for (const file of plan.meta.files) {
    const reading = yield* step("reader", (here) => readFile(file, here));
    readings.push(reading.meta);
  }

  const report = yield* step("reporter", (here) => writeReport(plan.meta, readings, options, here));
  return report.meta.summary;
});
