import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { familyQuery } from "../api/threads.ts";
import { counted } from "../format/amount.ts";
import { FailureNotice } from "../states/failure.tsx";
import { StatusIcon } from "../status/status.tsx";
import { isLive } from "../status/statuses.ts";
import { Nothing } from "../value/value.tsx";
import { treeOf } from "./family.ts";
import styles from "./family.module.css";

const askEveryMs = 4_000;
/** Forks of forks that are further away than this stand below each other. */
const deepest = 6;

/** The forks of a thread, and those that it comes from. */
export function FamilyTree({ threadId }: { threadId: string }) {
  const { data: family, error } = useQuery({
    ...familyQuery(threadId),
    refetchInterval: ({ state }) =>
      state.data?.some((one) => isLive(one.status)) === true && askEveryMs,
  });
  if (error) return <FailureNotice error={error} />;
  if (!family) return null;
  if (family.length < 2) return <Nothing>No forks yet. Fork from any card.</Nothing>;
  return (
    <ul className={styles.tree}>
      {treeOf(family).map(({ relative, depth }) => {
        const { threadId: id, status, steps, forkFrom } = relative;
        const from = forkFrom ? ` · kept ${forkFrom.steps}` : "";
        return (
          <li key={id} style={{ paddingLeft: `${Math.min(depth, deepest) * 1.1}rem` }}>
            <Link
              to="/threads/$id"
              params={{ id }}
              aria-current={id === threadId ? "page" : undefined}
            >
              <StatusIcon status={status} />
              <span className={styles.id}>…{id.slice(-8)}</span>
              <span className={styles.facts}>
                <span className="unseen">{status}, </span>
                {counted(steps, "step")}
                {from}
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
