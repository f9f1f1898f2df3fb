package settled

const MySQLStarted = mysqlStarted
