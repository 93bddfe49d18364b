// @postgres: starts a server
import { afterAll, describe, expect, test } from "bun:test";
import { readDatabaseUrl } from "../../src/database/address.ts";
import { openPostgresStore } from "../../src/store/store.ts";
import { missingPostgres } from "../fixtures/server.ts";
import { emptySchema, execute, select, stopShared } from "../fixtures/shared.ts";
import { claims, newThread, step } from "../fixtures/threads.ts";
import { recording, wrongCommits, wrongSums } from "./commits.ts";

/* Tests that the audit of commits finds errors planted in a valid schema. */

describe.skipIf(missingPostgres !== "")(`the audit of commits${missingPostgres}`, () => {
  afterAll(stopShared);

  /**
   * Writes two steps of a thread under one claim and a third under the next, plants an error, and returns the
   * violations.
   */
  async function audited(plant: string): Promise<{ commits: string[]; sums: string[] }> {
    const { url, drop } = await emptySchema();
    const address = readDatabaseUrl(url);
    const { schema } = address;
    const store = await openPostgresStore(address);
    await execute(url, recording(schema));
    const given = newThread("A");
    const { claim: first } = await store.create(given, claims);
    await first?.append(step("one"), { kind: "running" });
    await first?.append(step("two"), { kind: "running" });
    const second = await store.claim(given, { ...claims, takeOver: true });
    await second?.append(step("three"), { kind: "ended" });
    await store.close();
    if (plant !== "")
      await execute(url, `SET application_name TO another; SET search_path TO ${schema}; ${plant}`);
    const { threadId } = given;
    const lines = await select<{ content: string }>(
      url,
      `SELECT content FROM ${schema}.lines WHERE thread_id = '${threadId}' AND log = 0 ORDER BY n`,
    );
    const [row] = await select<{ record_sum: string }>(
      url,
      `SELECT record_sum FROM ${schema}.threads`,
    );
    const commits = await wrongCommits((sql) => select(url, sql), schema);
    const contents = lines.map(({ content }) => content);
    const sums = wrongSums(contents, row?.record_sum ?? "");
    await drop();
    return { commits: commits.map((what) => what.replace(`${threadId}: `, "")), sums };
  }

  const copy = "INSERT INTO lines SELECT thread_id, log, n + 1, content FROM lines WHERE n = 3";
  const planted: [string, string, { commits?: RegExp; sums?: RegExp }][] = [
    [
      "a line of a process without the fence",
      `INSERT INTO lines SELECT thread_id, 1, 0, content FROM lines WHERE n = 3`,
      {
        commits: /^line 0 of log 1 is of another, and the fence \d+ of uncaged-workflow \d+$/,
      },
    ],
    [
      "a line under a fence that was never issued",
      "DELETE FROM audit_claims WHERE fence = (SELECT fence FROM threads)",
      { commits: /^line 3 of log 0 is of uncaged-workflow \d+, and the fence \d+ of $/ },
    ],
    [
      "a write after the end of a lease",
      "UPDATE threads SET lease_until = now() - interval '1 s'; UPDATE threads SET turns = 1",
      {
        commits:
          /^is written under the fence \d+ without a lease, which ended 00:00:01[.\d]* before$/,
      },
    ],
    [
      "a write without a claim",
      "UPDATE threads SET owner = NULL, lease_until = NULL; UPDATE threads SET events = 1",
      { commits: /^is written under the fence \d+ without a lease, which ended {2}before$/ },
    ],
    [
      "a line under an earlier fence",
      "UPDATE audit SET fence = fence - 1 WHERE n = 3; UPDATE audit SET fence = fence + 1 WHERE n < 3",
      { commits: /^line 3 of log 0 has the fence \d+ after \d+$/ },
    ],
    [
      "a missing last line",
      "DELETE FROM lines WHERE n = 3",
      { commits: /has 4 records and 3/, sums: /last/ },
    ],
    [
      "a missing line before the last",
      "DELETE FROM lines WHERE n = 2",
      { commits: /has 4 records and 3/, sums: /record 2/ },
    ],
    ["an extra line", copy, { commits: /has 4 records and 5 lines/, sums: /record 4/ }],
    [
      "a line with the number of the next line",
      "UPDATE lines SET n = 4 WHERE n = 3",
      { commits: /has 4 records and 4 lines/ },
    ],
    [
      "lines of a missing thread",
      "DELETE FROM threads",
      { commits: /^is without a thread$/, sums: /last/ },
    ],
    [
      "a changed record",
      "UPDATE lines SET content = replace(content, 'two', 'too')",
      { sums: /^the checksum of record 2 is wrong$/ },
    ],
    [
      "a wrong last checksum",
      "UPDATE threads SET record_sum = '0123456789abcdef'",
      { sums: /^its row has another last checksum$/ },
    ],
  ];

  test("reports nothing for a valid schema", async () => {
    expect(await audited("")).toEqual({ commits: [], sums: [] });
  });

  test.each(planted)("reports %s", async (_, plant, expected) => {
    const found = await audited(plant);
    for (const key of ["commits", "sums"] as const) {
      const wanted = expected[key];
      if (wanted === undefined) expect(found[key]).toEqual([]);
      else expect(found[key].join("\n")).toMatch(wanted);
    }
  });
});
