-- In this order: the file system is set while settings may still be made, and every one of them before the last.
SET enable_external_access = false;
SET disabled_filesystems = 'LocalFileSystem';
SET lock_configuration = true;
BEGIN TRANSACTION READ ONLY;
