import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { Eval } from "@uncaged/workflow-server/api-types";
import { useState } from "react";
import { evalQuery } from "../../lib/evals.ts";
import { counted, moment } from "../../lib/format.ts";
import { SelectField } from "../../ui/field.tsx";
import { Page, useTitle } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { Cases, casesAtOnce } from "./cases.tsx";
import { VersionCard } from "./version-card.tsx";

export function EvalPage() {
  const { id } = useParams({ from: "/evals/$id" });
  const { baseline, show = "all" } = useSearch({ from: "/evals/$id" });
  const [limit, setLimit] = useState(casesAtOnce);
  const query = useQuery(evalQuery(id, baseline, { show, limit }));
  const { data: found } = query;
  const title = found ? found.dataset.file : id;
  useTitle(title);
  const note =
    found &&
    `${counted(found.counts.all, "case")}, scored by ${found.scorer.file}, ${moment(found.createdAt)}`;
  return (
    <Page title={title} note={note}>
      <Loaded query={query} lines={8}>
        {(read) => (
          <>
            <Comparison found={read} />
            <Cases found={read} limit={limit} onLimit={setLimit} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Comparison({ found }: { found: Eval }) {
  const { versions, baseline, changes } = found;
  const base = versions.find(({ hash }) => hash === baseline) ?? null;
  return (
    <>
      {versions.length > 1 && <BaselineChoice found={found} />}
      <ul
        className="grid grid-cols-[repeat(auto-fit,minmax(min(100%,19rem),1fr))] gap-3"
        aria-label="Versions"
      >
        {versions.map((version) => (
          <li key={version.hash}>
            <VersionCard
              version={version}
              baseline={base}
              changes={changes.find(({ hash }) => hash === version.hash) ?? null}
            />
          </li>
        ))}
      </ul>
    </>
  );
}

function BaselineChoice({ found: { baseline, versions } }: { found: Eval }) {
  const navigate = useNavigate({ from: "/evals/$id" });
  const choose = (hash: string) =>
    void navigate({
      search: (before) => ({ ...before, baseline: hash === versions[0]?.hash ? undefined : hash }),
      replace: true,
    });
  return (
    <div className="max-w-96">
      <SelectField
        label="Compare with"
        value={baseline ?? ""}
        onChange={({ target }) => choose(target.value)}
      >
        {versions.map(({ hash, workflow }) => (
          <option key={hash} value={hash}>
            {workflow} {hash}
          </option>
        ))}
      </SelectField>
    </div>
  );
}
