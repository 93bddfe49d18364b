import { Link } from "@tanstack/react-router";
import type { AddedWorkflow } from "@uncaged/workflow-server/api-types";
import { CircleCheck, Play, TriangleAlert } from "lucide-react";
import { useEffect, useRef } from "react";
import { buttonClass } from "../controls/button.tsx";
import styles from "./add.module.css";

/** What a file was added as, and where to go from there. */
export function Added({ added: { name, hash, unchanged, warnings } }: { added: AddedWorkflow }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // The form that had the focus is gone.
  useEffect(() => heading.current?.focus(), []);
  return (
    <section className={styles.added} aria-label="Added">
      <h2 ref={heading} tabIndex={-1} role="status">
        <CircleCheck aria-hidden />
        {unchanged ? `${name} was at this version already` : `${name} was added`}
      </h2>
      <p>
        Its current version is <code>{hash}</code>.
      </p>
      {warnings.length > 0 && (
        <ul className={styles.warnings} aria-label="Warnings">
          {warnings.map((warning) => (
            <li key={warning}>
              <TriangleAlert aria-hidden /> {warning}
            </li>
          ))}
        </ul>
      )}
      <div className={styles.next}>
        <Link to="/" search={{ start: name }} className={buttonClass("solid")}>
          <Play aria-hidden />
          Start a thread
        </Link>
        <Link to="/workflows/$name" params={{ name }} className={buttonClass()}>
          Open {name}
        </Link>
      </div>
    </section>
  );
}
