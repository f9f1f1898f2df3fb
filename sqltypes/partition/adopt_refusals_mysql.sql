SELECT concat('the key ', COLUMN_NAME, ' allows NULL: change it to NOT NULL first')
	FROM information_schema.COLUMNS
	WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = ? AND IS_NULLABLE = 'YES'
UNION ALL SELECT concat('the key ', COLUMN_NAME, ' is AUTO_INCREMENT: gormplugin/adopt changes that')
	FROM information_schema.COLUMNS
	WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND COLUMN_NAME = ? AND EXTRA LIKE '%auto_increment%'
UNION ALL SELECT concat('the unique index ', INDEX_NAME, ' does not contain the key')
	FROM information_schema.STATISTICS
	WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND NON_UNIQUE = 0 GROUP BY INDEX_NAME HAVING sum(COLUMN_NAME = ?) = 0
UNION ALL SELECT DISTINCT concat('the index ', INDEX_NAME, ' is a ', INDEX_TYPE, ' index')
	FROM information_schema.STATISTICS
	WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_TYPE IN ('FULLTEXT', 'SPATIAL', 'VECTOR')
UNION ALL SELECT DISTINCT concat('the foreign key ', CONSTRAINT_NAME, ' of the table ', TABLE_NAME, ' refers to ',
		REFERENCED_TABLE_NAME)
	FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL
	AND (TABLE_SCHEMA = ? AND TABLE_NAME = ? OR REFERENCED_TABLE_SCHEMA = ? AND REFERENCED_TABLE_NAME = ?)
