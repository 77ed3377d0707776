-- policy: register
-- analyst: alice
SELECT channel, amount > 500 AS large, COUNT(*) FROM orders GROUP BY channel, large;

-- charge:
-- table:orders: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- unit:member: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- analyst:alice: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- error:
-- COUNT(*): laplace, l1 5, l2 5, scale 5, error 14.978516
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "orders"."#unit" AS unit, "orders"."channel" AS k1, ("orders"."amount" > 500.0e0) AS k2
  FROM (SELECT t."member" AS "#unit", t."channel", t."amount" FROM "orders" t WHERE t."member" IS NOT NULL) "orders"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE (CASE WHEN k1 IN ('shop', 'web') THEN TRUE ELSE FALSE END OR k1 IS NULL) AND CASE WHEN k2 IN (FALSE, TRUE) THEN TRUE ELSE FALSE END
),
_weights AS (
  SELECT unit, CASE WHEN COUNT(*) <= 5 THEN 1024 ELSE CAST(5120 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_weighted AS (
  SELECT k1, k2, SUM(w) AS c1 FROM _joined JOIN _weights USING (unit) GROUP BY k1, k2
)
SELECT d.k1, d.k2, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1), (SELECT unnest($d2::BOOLEAN[]) AS k2)) d
LEFT JOIN _weighted ON _weighted.k1 IS NOT DISTINCT FROM d.k1 AND _weighted.k2 IS NOT DISTINCT FROM d.k2
ORDER BY d.k1 NULLS LAST, d.k2 NULLS LAST
-- answer without noise:
-- shop, False, 24
-- shop, True, 26
-- web, False, 23
-- web, True, 27
-- None, False, 24
-- None, True, 26
