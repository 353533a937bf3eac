// What a firmware takes that does nothing: the C library's share.
int main() { return 0; }
